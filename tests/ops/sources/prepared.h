#define REPEAT 1
