"""`jitc support-bundle`: one archive with what an issue report needs."""
