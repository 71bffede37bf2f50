/** The separator between the outputs of two test files. */
export const endMark = "\u0000end of file\u0000\n";
