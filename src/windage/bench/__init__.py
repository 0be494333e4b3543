"""Problems with a known answer, to see how well a method does."""
