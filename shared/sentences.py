"""Sentences that the labs about the pretrained model count on: searched, ambiguous, paraphrased, active and passive."""

import numpy as np

SEARCHED = [  # for heads, by *A pretrained model*
    "The old man and the old dog walked to the river.",
    "She put the letter on the table and left the room.",
    "When the bell rang, the children ran out of the school and into the rain.",
    "Nobody knew why the clock had stopped, but the clock was never wrong again.",
    "He reads a book about a book that was never written.",
    "My sister lives in a small town near the sea, and I live in a large town near the mountains.",
    "If you heat the water, the water will boil and the lid will move.",
    "The red car stopped behind the blue car.",
    "We bought bread, cheese and apples, and then more bread.",
    "A bird in the hand is worth two in the bush.",
    "The teacher asked the class a question, and the class asked the teacher another question.",
    "To be honest, I did not like the film, but I liked the music of the film.",
]

AMBIGUOUS = [  # beginning, first noun, second noun, the ending that means the first, the one that means the second
    ("The animal did not cross the street because it was too", "animal", "street", "tired", "wide"),
    ("The trophy did not fit into the suitcase because it was too", "trophy", "suitcase", "big", "small"),
    ("The truck could not pass the tunnel because it was too", "truck", "tunnel", "tall", "low"),
    ("The cat did not jump over the wall because it was too", "cat", "wall", "lazy", "high"),
    ("The boat could not enter the harbour because it was too", "boat", "harbour", "long", "shallow"),
    ("The book did not fit on the shelf because it was too", "book", "shelf", "thick", "full"),
    ("The dog would not eat the meat because it was too", "dog", "meat", "sick", "rotten"),
    ("The horse did not climb the hill because it was too", "horse", "hill", "weak", "steep"),
    ("The sofa did not go through the door because it was too", "sofa", "door", "bulky", "narrow"),
    ("The bird could not carry the branch because it was too", "bird", "branch", "young", "heavy"),
    ("The knife did not cut the bread because it was too", "knife", "bread", "blunt", "hard"),
    ("The ball broke the window because it was so", "ball", "window", "hard", "thin"),
    ("The phone did not fit into the pocket because it was too", "phone", "pocket", "large", "tight"),
    ("The mouse did not leave the hole because it was too", "mouse", "hole", "scared", "deep"),
    ("The bus could not cross the bridge because it was too", "bus", "bridge", "heavy", "weak"),
    ("The fish would not bite the hook because it was too", "fish", "hook", "clever", "rusty"),
    ("The lamp did not light the hall because it was too", "lamp", "hall", "dim", "big"),
    ("The cow did not drink the water because it was too", "cow", "water", "nervous", "dirty"),
    ("The ladder did not reach the roof because it was too", "ladder", "roof", "short", "high"),
    ("The tent did not survive the storm because it was too", "tent", "storm", "flimsy", "violent"),
]

WORDINGS = [  # for the nouns of AMBIGUOUS; "it" may be either
    "The {} was near the {} and it was old.",
    "The {} stood beside the {}, and it was old.",
    "We saw the {} and the {}, and it was old.",
    "I looked at the {} before I looked at the {}, because it was old.",
    "When the {} and the {} arrived, it was dirty.",
    "Nobody liked the {} or the {}, so it was sold.",
    "She painted the {} after the {} because it was beautiful.",
]

PARAPHRASES = [
    ("A man is playing a guitar on stage.", "A musician performs live with his instrument."),
    ("The doctor told him to stop smoking.", "His physician advised him to give up cigarettes."),
    ("The match was cancelled because it rained.", "Bad weather made them call off the game."),
    ("She bought a used bicycle.", "She purchased a second-hand bike."),
    ("Prices of houses have doubled in ten years.", "Homes cost twice as much as a decade ago."),
    ("The children are asleep.", "The kids have gone to bed and are sleeping."),
    ("He forgot his keys at the office.", "He left his keyring behind at work."),
    ("The film bored me to tears.", "I found the movie terribly dull."),
    ("The company fired half of its staff.", "Many employees lost their jobs at the firm."),
    ("The storm destroyed the old bridge.", "Heavy wind brought down an ancient crossing."),
    ("Learning a language takes patience.", "You have to persist to acquire a foreign tongue."),
    ("The soup needs more salt.", "This broth is not seasoned enough."),
    ("I cannot open this file on my laptop.", "My computer refuses to show the document."),
    ("The volcano has been quiet for centuries.", "That mountain last erupted hundreds of years ago."),
    ("My cat is afraid of thunder.", "Lightning storms frighten my pet."),
    ("The bank raised its interest rate.", "Borrowing money has become more expensive."),
    ("The moon was hidden by clouds.", "The night sky was overcast."),
    ("He has never learned to whistle.", "He cannot make a tune with his lips."),
    ("The refrigerator hums at night.", "Our fridge is noisy when everybody is in bed."),
    ("They planted an oak behind the school.", "A new tree grows in back of the classrooms."),
    ("He is allergic to nuts.", "Almonds and cashews make him ill."),
    ("The police caught the thief.", "Officers arrested the burglar."),
    ("The baby cried all night.", "The infant kept its parents awake until morning."),
    ("The author won a prize for her first novel.", "A debut book earned the writer an award."),
    ("Farmers hope for rain.", "The crops need water soon."),
    ("He quit his job to travel.", "He resigned in order to see the world."),
    ("The shop gives students a discount.", "Young people at university pay less in this store."),
    ("The lake freezes in winter.", "You can skate on the water in January."),
    ("The judge sent him to prison.", "The court put him behind bars."),
    ("She speaks four languages.", "She is fluent in several tongues."),
    ("The coffee was cold.", "My espresso had lost its heat."),
    ("Smoke came out of the kitchen.", "Something was burning on the stove."),
    ("The dentist pulled out a tooth.", "I had a molar removed."),
    ("The singer forgot the words.", "The vocalist could not remember the lyrics."),
    ("They got married last summer.", "Their wedding was in July."),
]

NOUNS = "dog man cat woman horse boy girl wolf king queen teacher doctor bear lion nurse tiger".split()
VERBS = "bitten chased kicked helped hit followed called pushed feared loved watched seen".split()
ACTIVE = "The {} is said to have just now {} the very old {}."
PASSIVE = "The {} is said to have been {} by the very old {}."
PLACES = {"[CLS]": 0, "first noun": 2, "said": 4, "old": 12, "second noun": 13}  # the same in both


def who_bites(nouns, verbs, number: int, random: np.random.Generator) -> tuple[list[str], np.ndarray]:
    """Random active sentences, then the same in the passive voice, and whether the first noun is the agent, bool."""
    filled = [(*random.choice(nouns, 2, replace=False), random.choice(verbs)) for _ in range(number)]
    texts = [text.format(first, verb, second) for text in (ACTIVE, PASSIVE) for first, second, verb in filled]
    return texts, np.repeat([True, False], number)
