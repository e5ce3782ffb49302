"""Source documents: the bytes that came in, archives of many files, and what the jobs that read or write them share."""
