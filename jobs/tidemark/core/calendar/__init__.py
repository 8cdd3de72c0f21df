"""Calendars of time zones: clocks that never go back, and periods by them."""
