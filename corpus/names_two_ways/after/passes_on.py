from doubtful import *
