"""What is handed over of the oversight of agents: an evidence pack, and the audit log in the forms of others. Pure."""
