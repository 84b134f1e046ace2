"""Collections as archives: one file that another installation takes in."""
