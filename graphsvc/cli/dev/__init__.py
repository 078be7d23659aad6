"""`graphsvc dev`: the service with embedded instances, from the first check to the last node stopped."""
