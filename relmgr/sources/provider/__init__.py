"""What a provider's ref means: its commit, its ABI number, its convention."""
