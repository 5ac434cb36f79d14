"""Commands about what is installed here, and the library that programs preload, tried beforehand."""
