"""Rules to a plan for one pass; the plan is data and can be printed."""
