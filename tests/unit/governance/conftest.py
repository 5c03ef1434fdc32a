"""A little world: a registry of dictionaries, a real ledger, three people and a policy."""

from helpers.governed_world import a_crash_is_seen_at_once, champion_world, world

__all__ = ["a_crash_is_seen_at_once", "champion_world", "world"]
