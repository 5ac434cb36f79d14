"""The recovery protocol as a model that is explored exhaustively; README.md has the parts."""
