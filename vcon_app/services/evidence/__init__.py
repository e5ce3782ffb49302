"""What is handed over to who asks how agents were overseen: the audit log of a period, and the evidence pack."""
