"""From score and MPC tables to rows: statistics, intervals, Tables 1, 2 and 7, and the claims ledger. Pure functions."""
