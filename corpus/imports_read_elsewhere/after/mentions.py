"""What imports a module of the package and reads nothing of it: mentioned.F."""

from package import mentioned

ACT = mentioned.act
