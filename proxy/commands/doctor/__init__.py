"""`jitc doctor`: looks at the machine, the installation and a program, and says what is wrong and what to do."""
