"""The proxy server: node service, workers, journal, coordinator, recovery, back ends."""
