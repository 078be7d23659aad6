"""What every process needs: settings, logs, metrics, deadlines, retries."""
