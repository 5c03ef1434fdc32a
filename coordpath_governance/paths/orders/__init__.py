"""Orders under a quadratic cost: every changed unit moves once. Chains ∅ ⊂ S₁ ⊂ S₂ … of moved units, and their bounds."""
