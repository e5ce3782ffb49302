"""How the product grows: data of many sessions, and what each page, job and scroll step costs on it."""
