"""Known vulnerabilities, licences, contents of what is shipped, and leaked secrets."""
