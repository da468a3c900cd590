mindiesd = 3.0
