"""What lets programs written for `import mxnet` run as they are."""
