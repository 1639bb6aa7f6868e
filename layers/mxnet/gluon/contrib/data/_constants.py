"""Constants of the data sets."""

EOS_TOKEN = "<eos>"
