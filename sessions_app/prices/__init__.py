"""What models cost, as a list that was made of the library ``genai-prices``: its data and its rules, without it."""
