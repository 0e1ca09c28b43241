"""The specification of Frontdesk as tests; the folders mirror the code, beside journeys and peers."""
