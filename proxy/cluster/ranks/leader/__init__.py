"""The leader's side: ranks of other nodes as recovery, protection and health see them."""
