const nothing = true;
