throw 1
