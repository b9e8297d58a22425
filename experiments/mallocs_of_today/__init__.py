"""The mallocs of today on today's programs: what each keeps resident, and why."""
