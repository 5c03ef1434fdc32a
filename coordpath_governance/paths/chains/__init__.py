"""Chains ∅ ⊂ S₁ ⊂ S₂ …: what every set of moved units costs, and bounds on all chains."""
