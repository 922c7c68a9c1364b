"""Why a row is suspect, and which change of one cell would correct it."""
