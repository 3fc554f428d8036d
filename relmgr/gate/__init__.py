"""Pure judgement: policies and checks over a frozen snapshot."""
