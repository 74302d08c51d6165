throw new RangeError("thrown by a module");
