"""What the pages of the admin and of the dashboard are made of."""
