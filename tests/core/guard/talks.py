"""What was said, for the guard to check lines of summaries against: a speaker before a bar, else user and assistant in turn."""

KITCHEN = [
    "We're redoing the kitchen and have 14,000 euros for everything.",
    "Noted. Any preference for the worktop?",
    "Oak, definitely. No granite, it feels cold to me.",
    "And the fitter?",
    "Anna Berger recommended Holtmann, so I booked them for June 9.",
    "Should the island stay?",
    "I'm still thinking about the island, maybe we drop it.",
]
LAUNCH = [
    "Release is planned for Thursday, 21 May. Don't deploy on Fridays, ever.",
    "Understood. Which database?",
    "We'll use Postgres 15 instead of MySQL. Redis is ruled out because ops won't run it.",
    "What about the cache then?",
    "In-process LRU with 512 entries is enough for now.",
    "Shall I add feature flags?",
    "No.",
    "If the load test fails, we roll back to version 2.3.1.",
]
TRIP = [
    "Let's go to Rome in September with Maja and Leon.",
    "Nice. Hotel or apartment?",
    "An apartment near Trastevere, at most 120 euros a night.",
    "Flights from Hamburg?",
    "Actually not Rome, let's take Naples. Same dates, 12 to 19 September.",
    "Should I look for a rental car?",
    "No car, we'll take the train. Leon can't eat shellfish.",
]
DIET = [
    "My doctor Dr. Patel said my blood pressure is 145 over 90.",
    "What did she prescribe?",
    "Ramipril 5 mg every morning. I'm not allowed to take ibuprofen any more.",
    "Any plan for exercise?",
    "Swimming twice a week, and I quit smoking in March.",
    "Will you see her again?",
    "Yes, next Tuesday at 8:30 am.",
]
SUPPORT = [
    "Order A-20931 arrived with a cracked lid. I don't want a refund, I want a replacement.",
    "I can send one to your address in Leeds. Is that right?",
    "No, I moved. It's 14 Mill Lane, York now. Please use the name Elin Marsh.",
    "Thanks. Delivery takes 3 to 5 days.",
    "Fine, as long as it comes before the 20th.",
]
CODE = [
    "The bug is in `parse_header` in src/http/reader.py, it drops the last byte.",
    "I could rewrite it with a state machine.",
    "Don't rewrite it, just fix the off-by-one. We can't use third-party libraries.",
    "OK. And the tests?",
    "Add one for empty input. Ticket is NET-482.",
    "Done. Should we also bump the timeout to 30 seconds?",
    "Hmm, not sure about the timeout. Let me ask Priya.",
]
PARTY = [
    "Mum's 60th is on Saturday. Anne brings the cake, Anna brings the wine.",
    "How many guests?",
    "24, and two of them are vegan. The budget was 300 but we raised it to 450.",
    "Live music?",
    "Uncle Bob wants a band, but I'd rather not have one. A playlist is enough.",
    "Shall we keep the fireworks?",
    "Yes, don't cancel the fireworks!",
]
ZH_KITCHEN = [
    "我们要装修厨房，总预算八万元，别超。",
    "好的，台面用什么材料？",
    "用橡木，不要大理石，太冷了。",
    "施工队定了吗？",
    "王磊推荐了宏达，我约了他们6月9日上门。",
    "岛台还要吗？",
    "岛台还在考虑，可能不做了。",
]
ZH_LAUNCH = [
    "版本计划5月21日周四发布，周五一律不要上线。",
    "明白。数据库用哪个？",
    "用PostgreSQL而不是MySQL。Redis不考虑了，运维不愿意维护。",
    "那缓存呢？",
    "进程内缓存就够了，512条。",
    "要不要加灰度开关？",
    "不用。",
    "如果压测不通过，就回滚到2.3.1。",
]
ZH_TRIP = [
    "九月我们和小李去西安玩吧。",
    "好，住酒店还是民宿？",
    "住民宿，每晚不超过400元。",
    "从上海坐飞机吗？",
    "还是不去西安了，改去成都，9月12日到19日。",
    "需要租车吗？",
    "不租车，坐高铁。小李对海鲜过敏。",
]
ZH_HEALTH = [
    "刘医生说我血压145，高压偏高。",
    "开了什么药？",
    "每天早上吃一片缬沙坦，布洛芬不能再吃了。",
    "运动怎么安排？",
    "每周游泳两次，三月已经戒烟了。",
    "什么时候复查？",
    "下周二上午八点半。",
]
ZH_TEAM = [
    "王磊负责前端，王蕾负责后端。",
    "测试谁来做？",
    "陈静做测试，会议从周二改到周四下午三点。",
    "周报还要写吗？",
    "周报不用写了，日报保留。",
    "外包团队还继续合作吗？",
    "合同不取消，先签到年底。",
]

WEDDING = [
    "Tom|We settled on the barn at Oakhurst for 26 September, about 80 people.",
    "Rita|Great. Vegetarian buffet?",
    "Tom|Yes, buffet, but my brother thinks we should have a hog roast. I told him that's not happening.",
    "Rita|And the photographer?",
    "Tom|Joanna Pike quoted 1,450 pounds. We haven't signed yet.",
    "Rita|What about children?",
    "Tom|Kids are welcome, I never said they weren't. But no dogs.",
]
GYM = [
    "I want to lose 6 kg by Christmas.",
    "How often can you train?",
    "Three mornings a week, never on Sundays. And please no running, my knee is bad.",
    "Rowing then?",
    "Rowing is perfect. I weigh 84 kg now.",
    "Do you want a meal plan?",
    "Not a strict one. I'd like to cut sugar but I won't give up coffee.",
    "Protein shakes?",
    "Those make me sick.",
]
LEASE = [
    "Our landlord wants to raise the rent from 980 to 1,090 euros in January.",
    "Will you accept?",
    "We offered 1,030 and he agreed yesterday.",
    "Good. Deposit unchanged?",
    "Yes, three months. Oh, and subletting is forbidden, but cats are fine.",
    "When does the lease end?",
    "31 August 2028. We don't have to repaint when we leave.",
]
APP = [
    "Let's build the app in Flutter. React Native is off the table.",
    "Backend?",
    "I was leaning towards Firebase at first, but Marta convinced me: Supabase it is.",
    "Login with Google only?",
    "Google and Apple. No passwords at all.",
    "Push notifications for the first release?",
    "Leave them out of v1, they can come in v2.",
    "Dark mode?",
    "If we have time.",
    "Who tests?",
    "Marta and Jon, starting Monday.",
]
REVERT = [
    "Don't use tabs anywhere, spaces only.",
    "OK, spaces.",
    "Hm, the linter config of the team says tabs. Fine, let's use tabs after all.",
    "Switching to tabs.",
    "And keep line length at 100, not 80.",
    "Done.",
    "The meeting with Viktor is at 14:00.",
    "Moved?",
    "He just wrote: it's at 15:30 instead.",
]
ALLERGY = [
    "Book a table for six at Lucca on Friday evening.",
    "Any dietary needs?",
    "Sophie is allergic to nuts, and I don't eat pork. Everybody else eats everything.",
    "Terrace or inside?",
    "Inside unless it's warmer than 20 degrees.",
    "Shall I order the wine in advance?",
    "Nah, we'll pick it there.",
    "And a birthday dessert?",
    "Oh yes please! With a candle, it's Sophie's 35th.",
]
ZH_RENT = [
    "房东想把房租从4800涨到5200。",
    "您同意吗？",
    "没同意，谈下来是5000，明年一月开始。",
    "押金呢？",
    "押一付三不变。不能养狗，但是可以养猫。",
    "合同到什么时候？",
    "2028年8月31日，退租不用重新刷墙。",
]
ZH_APP = [
    "App用Flutter做，React Native不考虑。",
    "后端呢？",
    "本来倾向Firebase，后来马涛说服我了，就用Supabase。",
    "只支持微信登录吗？",
    "微信和手机号，不做密码登录。",
    "首版要推送吗？",
    "首版先不做，放到第二版。",
    "夜间模式呢？",
    "有时间再说吧。",
    "谁来测试？",
    "马涛和周婷，下周一开始。",
]
ZH_DINNER = [
    "帮我订周五晚上六个人的位子，外婆家。",
    "有忌口吗？",
    "我不吃猪肉，苏菲对坚果过敏，其他人都行。",
    "坐大厅还是包间？",
    "包间，除非要加收服务费。",
    "需要提前点酒吗？",
    "不用，到了再点。",
    "要准备生日蛋糕吗？",
    "要的，苏菲三十五岁生日。",
]
ZH_GYM = [
    "我想在春节前减掉6公斤。",
    "一周能练几次？",
    "三个早上，周日从来不练。别安排跑步，我膝盖不好。",
    "那划船机？",
    "划船机可以。我现在84公斤。",
    "要不要做饮食计划？",
    "不用太严格，想少吃糖，但是咖啡不戒。",
]
MIX = [
    "这个项目用Python 3.11，不要用Java。",
    "好的，部署在哪？",
    "部署到AWS Frankfurt，不用Azure。deadline是6月30日。",
    "CI呢？",
    "GitHub Actions就行，Jenkins太老了，不用。",
    "要写docs吗？",
    "README必须有，wiki不需要。",
    "谁review？",
    "Lisa和老周。",
]
MOVE = [
    "We're moving to Lyon on 3 August, the van is booked with Cartons & Co for 640 euros.",
    "Do you need storage?",
    "No storage needed. Grandma's piano goes to my sister Claire, not to the new flat.",
    "How many boxes?",
    "About 45. The fish tank can't travel by van, Hugo drives it himself.",
    "And the lease here?",
    "Ends July 31. Don't hand over the keys to Mr Garnier, only to his wife.",
    "Understood.",
    "By the way, my colleague wants to move to Nice, crazy idea.",
]
RESEARCH = [
    "The paper is due June 14, 8 pages max.",
    "Which venue?",
    "The workshop at Vienna. We dropped the Oslo submission.",
    "Baselines?",
    "BM25 and ColBERT. I thought about adding GPT-4 as a judge, but reviewers hated that last time, so no LLM judge.",
    "How many annotators?",
    "Three: Ines, Omar and Keiko. Keiko might leave in May though.",
    "And the dataset?",
    "We can release it unless legal objects.",
]
GARDEN = [
    "Tomatoes along the south wall please, and under no circumstances mint in the beds.",
    "Raised beds?",
    "Two, 1.2 by 2.4 metres.",
    "Shall we use the green pellets against slugs?",
    "Never, the dog would eat them. Copper tape instead.",
    "Irrigation?",
    "Drip hoses, timer at 6:15 am. I wouldn't say no to a rain barrel.",
    "When do we plant?",
    "Not before mid-May because of frost. Let's say the 16th.",
]
SHOP = [
    "Our webshop must go live before Black Friday.",
    "Payment methods?",
    "Cards and PayPal. Klarna was considered, but the fees are too high, we'll go without it.",
    "Shipping abroad?",
    "Only EU and Switzerland, the UK is excluded for now.",
    "Discount code?",
    "WELCOME10 for new customers, 10% off, not valid on gift cards.",
    "Who writes the product texts?",
    "Dana does, I don't want AI-written ones.",
]
ZH_MOVE = [
    "我们8月3日搬到杭州，搬家公司约了蚂蚁，费用2600元。",
    "需要仓库吗？",
    "不需要。奶奶的钢琴给我妹妹，不搬到新家。",
    "大概多少箱？",
    "45箱左右。鱼缸不能上货车，何涛自己开车送。",
    "旧房子呢？",
    "7月31日到期，钥匙别交给中介，只能交给房东太太。",
    "明白。",
    "对了，我同事想去三亚发展，真够疯的。",
]
ZH_PAPER = [
    "论文6月14日截稿，最多8页。",
    "投哪里？",
    "投维也纳的研讨会，奥斯陆那个放弃了。",
    "基线呢？",
    "BM25和ColBERT。本来想加GPT-4打分，审稿人上次很反感，这次就算了。",
    "标注员几个人？",
    "三个：林悦、赵敏和吴昊。吴昊五月可能离职。",
    "数据集公开吗？",
    "除非法务反对，否则公开。",
]
ZH_SHOP = [
    "商城必须在双十一之前上线。",
    "支付方式？",
    "支付宝和微信，花呗考虑过，手续费太高，不接了。",
    "海外发货吗？",
    "只发港澳，台湾暂时不发。",
    "优惠码呢？",
    "新客用WELCOME10，打九折，礼品卡不能用。",
    "商品文案谁写？",
    "丁琳写，不要AI写的。",
]

BAND = [
    "Our gig is on 4 July at the Blue Lamp, doors at 7 pm.",
    "Which songs?",
    "Twelve songs, we skip the ballad. Pete sings lead, Petra plays bass.",
    "Merch?",
    "T-shirts yes, no posters this time. Tickets are 15 euros, kids under 12 free.",
    "Should we rent lights?",
    "I'd rather not, the venue has some.",
]
API = [
    "We version the API by header, not by path.",
    "Fine. Auth?",
    "OAuth2 only. API keys are deprecated and will be removed in v4.",
    "Rate limit?",
    "600 requests per minute per tenant. Let's not limit internal services.",
    "Webhooks retried?",
    "Up to 5 times. If Sam agrees we also sign them with HMAC.",
]
ZH_SCHOOL = [
    "孩子九月上小学，选育才小学，不选国际学校。",
    "接送怎么安排？",
    "早上我送，下午外婆接，校车不坐。",
    "兴趣班呢？",
    "报游泳和围棋，钢琴先不报了。",
    "老师联系了吗？",
    "班主任是孙丽老师，家长会8月28日晚上七点。",
]
ZH_TRIP2 = [
    "国庆去桂林，四大一小，预算一万二。",
    "住哪里？",
    "住阳朔的民宿，不住市区。",
    "要请导游吗？",
    "算了，自己玩。",
    "漂流去吗？",
    "看天气，下雨就不漂。",
]
