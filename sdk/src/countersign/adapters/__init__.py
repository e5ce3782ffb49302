"""The gate in front of the tools of other people's agent libraries; each module imports its library when it is used."""
