"""Jobs over several nodes in the model: who leads, calls between nodes, mirrors of the board, the store."""
