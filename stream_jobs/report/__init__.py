"""What the job shows: lines, figures and the overview of `status`."""
