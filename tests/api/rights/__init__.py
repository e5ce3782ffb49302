"""Who may do what over the API."""
