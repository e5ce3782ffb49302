"""What readers and writers of formats promise: their numbers over a corpus, hostile files, speed beside a library."""
