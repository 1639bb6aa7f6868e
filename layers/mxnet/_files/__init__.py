"""Files of arrays and graphs: outside data, whose every length is checked before it is used."""
