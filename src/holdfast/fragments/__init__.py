"""Who ships what: plans and steps for data that is split over sites by column, by row, or both."""
