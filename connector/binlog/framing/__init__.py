"""What every event begins and ends with, and what follows from the format of its log."""
