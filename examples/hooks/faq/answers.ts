/** Each answer applies to questions that contain all of its words. */
export const answers: { words: string[]; answer: string }[] = [
  { words: ["opening", "hours"], answer: "We are open from 9 to 17, Monday to Friday." },
  { words: ["refund"], answer: "Refunds take up to five working days." },
];
