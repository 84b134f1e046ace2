"""What makes and shows the product and is no part of it: no module of the product imports this one."""
