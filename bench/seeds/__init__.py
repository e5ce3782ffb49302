"""Seeds 000 to 003 tried again: rows by crafted files, and what of other people's files no reader shows."""
