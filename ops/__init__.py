"""What runs, measures and deploys graphsvc; no part of the package."""
