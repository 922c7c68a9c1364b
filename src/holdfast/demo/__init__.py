"""The demo: a month of orders, without errors and with them, ten rules for it, and the command that shows them.

scripts/make_demo_data.py writes `clean.csv` and `orders.csv`, and lists every error in the latter.
"""
