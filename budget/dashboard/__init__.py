"""Pages that show how the split holds: use, sheds, queues, and the switch for 3 am."""
