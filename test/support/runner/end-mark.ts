/** What separates the output of one test file from the next one's. */
export const endMark = "\u0000end of file\u0000\n";
